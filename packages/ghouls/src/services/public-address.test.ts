import { describe, expect, it } from "vitest";
import { isPublicAddress } from "./public-address.ts";

describe("an address", () => {
  it.each([
    ["loopback", "127.0.0.1", "127.255.255.254", "::1"],
    ["unspecified, which reaches loopback", "0.0.0.0", "0.1.2.3", "::"],
    ["of a private network", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1"],
    ["of a carrier's network", "100.64.0.1", "100.127.255.255", "100.100.100.200"],
    [
      "link-local, where metadata of a cloud is",
      "169.254.169.254",
      "169.254.170.2",
      "fe80::1",
      "fe80::1%eth0",
    ],
    ["unique local", "fc00::1", "fd00:ec2::254"],
    ["site-local, as it once was", "fec0::1"],
    ["IPv4 mapped into IPv6", "::ffff:127.0.0.1", "::ffff:a9fe:a9fe", "::ffff:10.0.0.1", "::ffff:0:7f00:1"],
    ["IPv4 in IPv6 in its oldest form", "::7f00:1", "::a9fe:a9fe"],
    ["behind NAT64", "64:ff9b::7f00:1", "64:ff9b::808:808", "64:ff9b:1::1"],
    ["behind 6to4 or Teredo", "2002:7f00:1::1", "2001:0:7f00:1::1"],
    ["multicast or broadcast", "224.0.0.1", "255.255.255.255", "ff02::1"],
    [
      "for documents and measurements",
      "192.0.2.1",
      "198.51.100.1",
      "203.0.113.1",
      "198.18.0.1",
      "2001:db8::1",
    ],
    ["assigned to nobody", "240.0.0.1", "100:0:0:1::1", "4000::1", "3fff::1", "5f00::1"],
    ["no address at all", "", "localhost", "2130706433", "0x7f.1", "127.1", "8.8.8.8/8", "8.8.8.8 "],
  ])("that is %s is not public", (_what, ...addresses) => {
    expect(addresses.filter(isPublicAddress)).toEqual([]);
  });

  it("of the internet is public, also where it is mapped", () => {
    const addresses = [
      "8.8.8.8",
      "1.1.1.1",
      "172.32.0.1",
      "100.128.0.1",
      "2606:4700::1111",
      "::ffff:8.8.8.8",
    ];
    expect(addresses.filter(isPublicAddress)).toEqual(addresses);
  });
});
