import { Validator } from "@seriousme/openapi-schema-validator";
import { describe, expect, it } from "vitest";
import { createApiApp } from "./apps.ts";
import { defineRoute } from "./define-route.ts";
import { openApiDocument } from "./document.ts";
import { ask, Fakes } from "./fakes.support.ts";

/** Whether the text is OpenAPI, with every reference resolved. */
async function verdictOn(text: string) {
  return new Validator().validate(JSON.parse(text) as Record<string, unknown>);
}

describe("the OpenAPI document", () => {
  it("is valid OpenAPI 3.1 as served, with the routes of both applications", async () => {
    const response = await createApiApp(new Fakes())(ask("GET", "/openapi.json", { token: null }));
    const document = (await response.json()) as ReturnType<typeof openApiDocument>;
    expect(document.openapi).toBe("3.1.0");
    expect(Object.keys(document.paths ?? {})).toEqual(
      expect.arrayContaining(["/v1/runs/batch", "/v1/runs/{id}/timeline"]),
    );
    expect(await verdictOn(JSON.stringify(document))).toEqual({ valid: true });
  });

  it("is really judged: a document with a dangling reference fails", async () => {
    const text = JSON.stringify(openApiDocument());
    expect(await verdictOn(text)).toEqual({ valid: true });
    const dangling = text.replaceAll('"#/components/schemas/Admitted"', '"#/components/schemas/Gone"');
    expect(await verdictOn(dangling)).toMatchObject({
      valid: false,
      errors: expect.stringContaining("Gone") as string,
    });
    expect(await verdictOn(text.replaceAll('"responses"', '"answers"'))).toMatchObject({ valid: false });
  });

  it("asks for the token on all routes but the public ones, and leaks no implementation", () => {
    const document = openApiDocument();
    const open = Object.entries(document.paths ?? {}).filter(([, item]) =>
      Object.values(item as Record<string, { security?: unknown[] }>).some(
        (operation) => operation.security?.length !== 1,
      ),
    );
    expect(open.map(([path]) => path)).toEqual(["/healthz", "/readyz"]);
    expect(document.paths?.["/v1/attempts/{id}/callback"]?.post).toMatchObject({
      security: [{ callback: [] }],
    });
    expect(document.paths?.["/v1/runs/{id}/cancel"]?.post).toMatchObject({
      security: [{ bearer: ["runs:cancel"] }],
      description: "Needs the permission `runs:cancel`.",
    });
    expect(document.paths?.["/v1/whoami"]?.get).toMatchObject({
      security: [{ bearer: [] }],
      description: "Needs a token, and no permission.",
    });
    expect(JSON.stringify(document)).not.toMatch(/middleware|"needs"/);
  });

  it("has no route that does not say what its caller needs: one does not compile", () => {
    const parts = { method: "get", path: "/v1/x", responses: {} } as const;
    // @ts-expect-error -- `needs` is missing
    expect(() => defineRoute(parts)).not.toThrow();
    // @ts-expect-error -- the permission is none
    expect(() => defineRoute({ ...parts, needs: "runs:*" })).not.toThrow();
    expect(defineRoute({ ...parts, needs: null })).toMatchObject({ security: [], middleware: [] });
  });

  it("has the bounds of labels, as they are taken", () => {
    const schemas = openApiDocument().components?.schemas ?? {};
    const labels = {
      maxProperties: 16,
      propertyNames: { type: "string", pattern: "^[a-z0-9][a-z0-9._/-]{0,62}$", maxLength: 63 },
      additionalProperties: {
        type: "string",
        maxLength: 200,
        pattern: String.raw`^[^\u0000-\u001f\u007f-\u009f]*$`,
      },
    };
    expect(schemas["RunRequest"]).toMatchObject({ properties: { labels } });
    expect(schemas["CancelMatchingRequest"]).toMatchObject({
      properties: { filter: { properties: { labels } } },
    });
  });

  it("says that every problem has a fix", () => {
    const { Problem } = openApiDocument().components?.schemas ?? {};
    expect(Problem).toMatchObject({ required: expect.arrayContaining(["fix"]) as string[] });
  });

  it("documents the query of the list as it is taken", () => {
    const parameters = openApiDocument().paths?.["/v1/runs"]?.get?.parameters;
    expect(parameters).toContainEqual(
      expect.objectContaining({
        name: "limit",
        required: false,
        schema: { type: "integer", minimum: 1, maximum: 200, default: 50 },
      }),
    );
    expect(parameters).toContainEqual(
      expect.objectContaining({
        name: "status",
        required: false,
        schema: expect.objectContaining({ type: "array" }),
      }),
    );
  });
});
