import { GhoulsError, workflowKey, type RegisteredWorkflow, type WorkflowPin } from "@ghouls/core";

/** The workflows of this build. Several versions of one name stand side by side. */
export class Registry {
  readonly #byPin = new Map<string, RegisteredWorkflow>();
  readonly #newest = new Map<string, RegisteredWorkflow>();
  readonly #byAccepted = new Map<string, RegisteredWorkflow>();

  constructor(workflows: readonly RegisteredWorkflow[]) {
    for (const workflow of workflows) this.add(workflow);
  }

  /** @throws GhoulsError configuration_invalid for a second one of a name and version, or of an accepted digest */
  add(workflow: RegisteredWorkflow): void {
    const { name, version } = workflow.definition;
    const key = workflowKey(workflow.definition);
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
    for (const digest of workflow.definition.accepts) this.#accept(workflow, digest);
  }

  #accept(workflow: RegisteredWorkflow, digest: string): void {
    const { name, version } = workflow.definition;
    const key = `${name}@${digest}`;
    const other = this.#byAccepted.get(key);
    if (other !== undefined) {
      throw new GhoulsError(
        "configuration_invalid",
        `versions ${other.definition.version} and ${version} of workflow "${name}" both accept ${digest}`,
        { fix: "Let one of them carry those runs on." },
      );
    }
    this.#byAccepted.set(key, workflow);
  }

  all(): RegisteredWorkflow[] {
    return [...this.#byPin.values()];
  }

  /** What runs of this build are pinned to. */
  pins(): WorkflowPin[] {
    return this.all().map(pinOf);
  }

  /** The pins whose runs this build carries: its own, and those that it accepts. */
  carried(): WorkflowPin[] {
    const accepted = [...this.#byAccepted].map(([key, { definition }]) => ({
      name: definition.name,
      version: definition.version,
      digest: key.slice(definition.name.length + 1),
    }));
    const each = [...this.pins(), ...accepted].map(
      (pin) => [`${pin.name}@${pin.version}@${pin.digest}`, pin] as const,
    );
    return [...new Map(each).values()];
  }

  /** @throws GhoulsError unknown_workflow */
  choose(name: string, version: number | undefined): RegisteredWorkflow {
    const found =
      version === undefined ? this.#newest.get(name) : this.#byPin.get(workflowKey({ name, version }));
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
    return this.#byPin.get(workflowKey(pin));
  }

  /** The newest workflow that may carry runs of a pin on: that very code, or code that accepts its digest. */
  newestCarrier(pin: WorkflowPin): RegisteredWorkflow | undefined {
    const exact = this.find(pin);
    const accepting = this.#byAccepted.get(`${pin.name}@${pin.digest}`);
    const own = exact?.digest === pin.digest ? exact : undefined;
    if (own === undefined || accepting === undefined) return own ?? accepting;
    return accepting.definition.version > own.definition.version ? accepting : own;
  }

  /** The workflow that carries runs of a pin: that very code, else code that accepts its digest. */
  carrier(pin: WorkflowPin): RegisteredWorkflow | undefined {
    const exact = this.find(pin);
    return exact?.digest === pin.digest ? exact : this.#byAccepted.get(`${pin.name}@${pin.digest}`);
  }
}

export function pinOf({ definition, digest }: RegisteredWorkflow): WorkflowPin {
  return { name: definition.name, version: definition.version, digest };
}
