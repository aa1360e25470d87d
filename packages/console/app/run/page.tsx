import { getRouteApi } from "@tanstack/react-router";

const route = getRouteApi("/runs/$runId");

export function RunPage() {
  const { runId } = route.useParams();
  return <div className="page">{runId}</div>;
}
