declare module "pg-types/lib/textParsers.js" {
  const textParsers: {
    /** Registers what node-postgres makes of the texts of types by itself. */
    readonly init: (register: (oid: number, parse: (text: string) => unknown) => void) => void;
  };
  export default textParsers;
}
