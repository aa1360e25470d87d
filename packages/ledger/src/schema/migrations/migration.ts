/** One forward step of the schema. Text, so that nothing is read from files at run time. */
export interface Migration {
  readonly number: number;
  readonly name: string;
  /** Names the schema as `ghouls.`. */
  readonly sql: string;
}
