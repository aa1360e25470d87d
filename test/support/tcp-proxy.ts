import { createServer, connect, type AddressInfo, type Socket } from "node:net";
import { afterAll } from "vitest";

/** Stands between a client and PostgreSQL, and loses what a network may lose. */
export interface TcpProxy {
  /** The connection string with this proxy's address in the place of the server's. */
  through(connectionString: string): string;
  /**
   * Cuts the connection once, when the client sends a message with this text: "before" PostgreSQL sees it, or "after" it
   * has carried it out and its answer has come this far. Resolves when it has done so.
   */
  cutOnce(when: "before" | "after", text: string): Promise<void>;
  /** Swallows, once, all that the connection sends from a message with this text on; nobody is told. */
  blackHoleOnce(text: string): Promise<void>;
  /** Lets a message with this text through, once, and swallows all that the server says from then on; nobody is told. */
  muteOnce(text: string): Promise<void>;
  /** Refuses new connections, and cuts those that are open. */
  refuse(): void;
  /** Takes new connections in, and never says a word on them. */
  silence(): void;
  /** Takes new connections again. */
  restore(): void;
  /** Connections that have been accepted so far. */
  readonly accepted: number;
}

interface Rule {
  readonly action: "before" | "after" | "swallow" | "mute";
  readonly text: string;
  readonly done: () => void;
}

/** ReadyForQuery: the server's last word on what it was sent. */
const READY = Buffer.from([0x5a, 0, 0, 0, 5]);

/** On a port of its own choice, unless one is given. */
export async function tcpProxy(target: { host: string; port: number }, listenOn = 0): Promise<TcpProxy> {
  const open = new Set<Socket>();
  const rules: Rule[] = [];
  let mode: "forward" | "refuse" | "silence" = "forward";
  let accepted = 0;

  const server = createServer((client) => {
    accepted += 1;
    track(client, open);
    if (mode === "refuse") {
      client.resetAndDestroy();
      return;
    }
    if (mode === "silence") return;
    const upstream = connect({ ...target, noDelay: true });
    track(upstream, open);
    join(client, upstream, rules);
  });
  server.on("error", () => undefined);
  await new Promise<void>((resolve) => server.listen(listenOn, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const cutAll = () => {
    for (const socket of open) socket.destroy();
  };
  afterAll(async () => {
    cutAll();
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
    });
  });
  const once = (action: Rule["action"], text: string) =>
    new Promise<void>((resolve) => {
      rules.push({ action, text, done: resolve });
    });
  return {
    through: (connectionString) => {
      const url = new URL(connectionString);
      url.host = `127.0.0.1:${port}`;
      return url.href;
    },
    cutOnce: once,
    blackHoleOnce: (text) => once("swallow", text),
    muteOnce: (text) => once("mute", text),
    refuse: () => {
      mode = "refuse";
      cutAll();
    },
    silence: () => {
      mode = "silence";
    },
    restore: () => {
      mode = "forward";
    },
    get accepted() {
      return accepted;
    },
  };
}

function track(socket: Socket, open: Set<Socket>): void {
  open.add(socket);
  socket.on("error", () => undefined);
  socket.on("close", () => open.delete(socket));
}

function join(client: Socket, upstream: Socket, rules: Rule[]): void {
  let swallowing = false;
  let muted = false;
  let losing: Rule | undefined;
  client.setNoDelay(true);
  client.on("data", (data) => {
    if (swallowing) return;
    const index = rules.findIndex((rule) => data.includes(rule.text));
    const rule = index === -1 ? undefined : rules.splice(index, 1)[0];
    if (rule?.action === "before") {
      client.destroy();
      upstream.destroy();
      rule.done();
      return;
    }
    if (rule?.action === "swallow") {
      swallowing = true;
      rule.done();
      return;
    }
    if (rule?.action === "mute") {
      muted = true;
      rule.done();
    } else {
      losing ??= rule;
    }
    upstream.write(data);
  });
  upstream.on("data", (data) => {
    if (muted) return;
    if (losing === undefined) {
      client.write(data);
      return;
    }
    // Its answer stays here; once the server is ready again, it has committed.
    if (data.length < 6 || !data.subarray(-6, -1).equals(READY)) return;
    client.destroy();
    upstream.destroy();
    losing.done();
  });
  client.on("close", () => upstream.destroy());
  upstream.on("close", () => client.destroy());
}
