import { isIP } from "node:net";
// The ranges of the IANA registries, 30 of them with their RFCs, are nothing to keep a list of by hand.
import ipaddr from "ipaddr.js";

/** What is routed as unicast at all. The library takes what is assigned to nobody for unicast, ::127.0.0.1 among it. */
const ROUTED_V6 = ipaddr.IPv6.parseCIDR("2000::/3");

/**
 * Whether an address is one of the public internet, where no part of this machine, its network or its cloud is: unicast in
 * no special range. An IPv4 address inside of an IPv6 one is judged itself (::ffff:0:0/96), or makes it none (NAT64, 6to4, Teredo).
 * @param text as a resolver gives it; whatever is no address is none
 */
export function isPublicAddress(text: string): boolean {
  if (isIP(text) === 0) return false;
  const address = ipaddr.process(text);
  if (address.range() !== "unicast") return false;
  return address.kind() === "ipv4" || address.match(ROUTED_V6);
}
