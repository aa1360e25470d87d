import { createPrivateKey } from "node:crypto";
import type { RequestListener } from "node:http";
import { createServer, type Server } from "node:https";
import { getCACertificates, setDefaultCACertificates } from "node:tls";

/** A certificate for jobs.example, signed by itself, and its key; both are known to everybody. Valid until 2126. */
const CERTIFICATE =
  "MIIBnjCCAUSgAwIBAgIUecS0CatqQBXjRL+0XVzQYn3uJIQwCgYIKoZIzj0EAwIwFzEVMBMGA1UEAwwMam9icy5leGFtcGxlMCAXDTI2MTEzMDA3MTc1NFoYDzIxMjYxMTA2MDcxNzU0WjAXMRUwEwYDVQQDDAxqb2JzLmV4YW1wbGUwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAASvbDHpTGYxscFMGx6MzBmqU6eJouAh4JYPfxAlwB7N6ckmLTd+OpAUCrMRwk0vUO5VWxJ+94Pls0lW8cLXs27po2wwajAdBgNVHQ4EFgQUYj6o6EzxygjqLOIlaXFvDvvglsIwHwYDVR0jBBgwFoAUYj6o6EzxygjqLOIlaXFvDvvglsIwDwYDVR0TAQH/BAUwAwEB/zAXBgNVHREEEDAOggxqb2JzLmV4YW1wbGUwCgYIKoZIzj0EAwIDSAAwRQIhAM20rIY6SCralCL3P9FTYuW4qM8JWGnV0rTcDl561J9wAiAW3pd8P5ppFbF2I34v9R2lx+IDLF9VTLDJi4A5v3RLow==";
const KEY =
  "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgQxybh1fbm9xn5G5yruH7xEBWk2EtFEr3guNw+dRvwGOhRANCAASvbDHpTGYxscFMGx6MzBmqU6eJouAh4JYPfxAlwB7N6ckmLTd+OpAUCrMRwk0vUO5VWxJ+94Pls0lW8cLXs27p";

const certificate = `-----BEGIN CERTIFICATE-----\n${CERTIFICATE}\n-----END CERTIFICATE-----\n`;

/** A server that can prove to be jobs.example to whoever trusts its certificate, and tells which name it was asked for. */
export function tlsServer(listener: RequestListener, named: (name: string) => void): Server {
  const key = createPrivateKey({ key: Buffer.from(KEY, "base64"), format: "der", type: "pkcs8" });
  return createServer(
    {
      key: key.export({ format: "pem", type: "pkcs8" }),
      cert: certificate,
      SNICallback: (name, done) => {
        named(name);
        done(null);
      },
    },
    listener,
  );
}

/** Lets this process trust it too, until what is given back is called. */
export function trustIt(): () => void {
  const before = getCACertificates("default");
  setDefaultCACertificates([...before, certificate]);
  return () => setDefaultCACertificates(before);
}
