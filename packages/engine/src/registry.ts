import { GhoulsError, type RegisteredWorkflow, type WorkflowPin } from "@ghouls/core";

/** The workflows of this build. Several versions of one name stand side by side. */
export class Registry {
  readonly #byPin = new Map<string, RegisteredWorkflow>();
  readonly #newest = new Map<string, RegisteredWorkflow>();

  constructor(workflows: readonly RegisteredWorkflow[]) {
    for (const workflow of workflows) {
      const { name, version } = workflow.definition;
      const key = `${name}@${version}`;
      if (this.#byPin.has(key)) {
        throw new GhoulsError(
          "configuration_invalid",
          `workflow "${name}" version ${version} is registered twice`,
          {
            fix: "Give each registered workflow its own name or version.",
          },
        );
      }
      this.#byPin.set(key, workflow);
      const newest = this.#newest.get(name);
      if (newest === undefined || newest.definition.version < version) this.#newest.set(name, workflow);
    }
  }

  all(): RegisteredWorkflow[] {
    return [...this.#byPin.values()];
  }

  pins(): WorkflowPin[] {
    return this.all().map(({ definition, digest }) => ({
      name: definition.name,
      version: definition.version,
      digest,
    }));
  }

  /** @throws GhoulsError unknown_workflow */
  choose(name: string, version: number | undefined): RegisteredWorkflow {
    const found = version === undefined ? this.#newest.get(name) : this.#byPin.get(`${name}@${version}`);
    if (found === undefined) {
      const wanted = version === undefined ? `"${name}"` : `"${name}" version ${version}`;
      throw new GhoulsError("unknown_workflow", `there is no workflow ${wanted}`, {
        fix: `Registered are: ${[...this.#byPin.keys()].join(", ") || "none"}.`,
      });
    }
    return found;
  }

  /** The workflow of a pin under its name and version, whatever its digest; undefined where this build has none. */
  find(pin: WorkflowPin): RegisteredWorkflow | undefined {
    return this.#byPin.get(`${pin.name}@${pin.version}`);
  }
}
