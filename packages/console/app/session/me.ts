import { useQuery } from "@tanstack/react-query";
import type { Permission } from "@ghouls/core";
import { useClient } from "./gate.tsx";

/** Who is signed in, as the API knows them. */
export function useMe() {
  const client = useClient();
  return useQuery({
    queryKey: ["me"],
    queryFn: ({ signal }) => client.whoami({ signal }),
    staleTime: 60_000,
  });
}

/** Whether the person may do this; false while it is not known. The API decides: this only keeps buttons away that it would refuse. */
export function useMay(permission: Permission): boolean {
  const { data } = useMe();
  return data?.permissions.includes(permission) ?? false;
}
