import { Contrib, Enums, Models, Serialize, Spec, Validation } from "@cyclonedx/cyclonedx-library";
import { PackageURL } from "packageurl-js";
import parse from "spdx-expression-parse";
import { dependencyGraph } from "./graph.ts";
import { strongest } from "./integrity.ts";
import { readLicence } from "./licences.ts";
import type { LockedPackage, Lockfile } from "./lockfile.ts";
import type { Policy } from "./policy.ts";

const HASHES: Readonly<Record<string, Enums.HashAlgorithm>> = {
  sha512: Enums.HashAlgorithm["SHA-512"],
  sha384: Enums.HashAlgorithm["SHA-384"],
  sha256: Enums.HashAlgorithm["SHA-256"],
  sha1: Enums.HashAlgorithm["SHA-1"],
};

/** The bom-ref of the project; no lockfile path is ".". */
const PROJECT_REF = ".";

/** Compiles the schema at its first use, and keeps it. */
const validator = new Validation.JsonStrictValidator(Spec.Version.v1dot6);

/** What makes one bom of a lockfile differ from the next. */
export interface BomIdentity {
  /** A UUID. */
  readonly serialNumber: string;
  readonly timestamp: Date;
}

/**
 * Builds the CycloneDX 1.6 bill of materials of a lockfile, as JSON: a component for each package, with licence,
 * hashes, package URL and direct dependencies. The same arguments give the same bytes. The policy's aliases turn
 * licence names into SPDX expressions; its judgements are not in the bom.
 */
export function buildBom(lockfile: Lockfile, policy: Policy, identity: BomIdentity): string {
  const licences = new Contrib.License.Factories.LicenseFactory(parse);
  const project = new Models.Component(Enums.ComponentType.Application, lockfile.project.name, {
    bomRef: PROJECT_REF,
    ...(lockfile.project.version === undefined ? {} : { version: lockfile.project.version }),
  });
  const components = new Map([["", project]]);
  for (const found of lockfile.packages) components.set(found.path, component(found, policy, licences));
  for (const [from, targets] of dependencyGraph(lockfile)) {
    for (const to of targets) {
      const target = components.get(to);
      if (target !== undefined) components.get(from)?.dependencies.add(target.bomRef);
    }
  }
  const bom = new Models.Bom({
    serialNumber: `urn:uuid:${identity.serialNumber}`,
    metadata: new Models.Metadata({ component: project, timestamp: identity.timestamp, tools: tools() }),
    components: new Models.ComponentRepository([...components.values()].filter((found) => found !== project)),
  });
  const serializer = new Serialize.JsonSerializer(new Serialize.JSON.Normalize.Factory(Spec.Spec1dot6));
  return `${serializer.serialize(bom, { sortLists: true, space: 2 })}\n`;
}

/** Checks a bom against the strict JSON schema of CycloneDX 1.6. @returns what is wrong, or undefined */
export async function bomFault(text: string): Promise<string | undefined> {
  const fault: unknown = await validator.validate(text);
  return fault === null ? undefined : JSON.stringify(fault).slice(0, 1_000);
}

function component(
  found: LockedPackage,
  policy: Policy,
  licences: Contrib.License.Factories.LicenseFactory,
): Models.Component {
  const slash = found.name.startsWith("@") ? found.name.indexOf("/") : -1;
  const group = slash === -1 ? undefined : found.name.slice(0, slash);
  const name = found.name.slice(slash + 1);
  const hashes = hashesOf(found.integrity);
  const licence = readLicence(found.licence, policy);
  const stated =
    licence.kind === "missing" ? [] : [licence.kind === "expression" ? licence.expression : licence.text];
  const purl = purlOf(found, group, name);
  const properties: [string, boolean][] = [
    ["cdx:npm:package:development", found.dev],
    ["cdx:npm:package:bundled", found.bundled],
  ];
  return new Models.Component(Enums.ComponentType.Library, name, {
    bomRef: found.path,
    ...(group === undefined ? {} : { group }),
    ...(found.version === undefined ? {} : { version: found.version }),
    ...(purl === undefined ? {} : { purl }),
    scope: scopeOf(found),
    hashes: new Models.HashDictionary(hashes),
    licenses: new Models.LicenseRepository(stated.map((text) => licences.makeFromString(text))),
    properties: new Models.PropertyRepository(
      properties.filter(([, isSet]) => isSet).map(([key]) => new Models.Property(key, "true")),
    ),
  });
}

function scopeOf(found: LockedPackage): Enums.ComponentScope {
  if (found.dev) return Enums.ComponentScope.Excluded; // "for test and other non-runtime purposes" (CycloneDX 1.6)
  return found.optional ? Enums.ComponentScope.Optional : Enums.ComponentScope.Required;
}

function hashesOf(integrity: string | undefined): [Enums.HashAlgorithm, string][] {
  const found = strongest(integrity);
  const algorithm = found === undefined ? undefined : HASHES[found.algorithm];
  const digest = found?.digests[0];
  if (algorithm === undefined || digest === undefined) return [];
  return [[algorithm, Buffer.from(digest, "base64").toString("hex")]];
}

/** A package URL claims an origin: only what the registry or git has gets one. */
function purlOf(found: LockedPackage, group: string | undefined, name: string): string | undefined {
  if (found.kind === "workspace" || found.kind === "file") return undefined;
  const origin =
    found.kind === "git" && found.resolved !== undefined ? { vcs_url: found.resolved } : undefined;
  return new PackageURL("npm", group, name, found.version, origin, undefined).toString();
}

function tools(): Models.Tools {
  const tool = new Models.Component(Enums.ComponentType.Application, "release-gate", {
    group: "ghouls",
    version: "1",
  });
  return new Models.Tools({ components: new Models.ComponentRepository([tool]) });
}
