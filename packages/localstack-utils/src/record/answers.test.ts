import { describe, expect, it } from "vitest";
import { attributesOf } from "./attributes.ts";
import { answerOf } from "./provider-functions.ts";

const place = {
  account: "123456789012",
  region: "eu-central-1",
  sqsUrl: "http://127.0.0.1:4566",
  answers: {},
};

describe("what a provider answers", () => {
  it("is a policy as IAM writes it", () => {
    const statements = [
      {
        sid: "One",
        effect: "Deny",
        principals: [{ type: "AWS", identifiers: ["a", "b"] }],
        actions: ["sqs:SendMessage"],
        resources: ["q"],
        conditions: [
          { test: "StringEquals", variable: "x", values: ["1"] },
          { test: "StringEquals", variable: "y", values: ["2", "3"] },
        ],
      },
      { notActions: ["iam:*"], notResources: ["r"] },
    ];
    const answer = answerOf("aws:iam/getPolicyDocument:getPolicyDocument", { statements }, place);
    expect(JSON.parse(answer["json"] as string)).toEqual({
      Version: "2012-10-17",
      Statement: [
        {
          Sid: "One",
          Effect: "Deny",
          Principal: { AWS: ["a", "b"] },
          Action: "sqs:SendMessage",
          Resource: "q",
          Condition: { StringEquals: { x: "1", y: ["2", "3"] } },
        },
        { Effect: "Allow", NotAction: "iam:*", NotResource: "r" },
      ],
    });
  });

  it("has no statements where none are given, so that SST attaches no policy", () => {
    const answer = answerOf("aws:iam/getPolicyDocument:getPolicyDocument", { statements: [] }, place);
    expect(answer).not.toHaveProperty("statements");
  });

  it("tells apart what is looked up by its id", () => {
    const subnet = answerOf("aws:ec2/getSubnet:getSubnet", { id: "subnet-7" }, place);
    expect(subnet).toMatchObject({ id: "subnet-7", availabilityZone: "eu-central-1a" });
    expect(subnet["arn"]).toBe("arn:aws:ec2:eu-central-1:123456789012:subnet/subnet-7");
  });

  it("is refused for the text of a secret, which would stay in the deployment's state", () => {
    const token = "aws:secretsmanager/getSecretVersion:getSecretVersion";
    expect(() => answerOf(token, {}, place)).toThrow(`no answer is known to ${token}`);
  });

  it("may be given by the recording", () => {
    const answers = { "aws:route53/getZone:getZone": { zoneId: "Z1" } };
    expect(answerOf("aws:route53/getZone:getZone", {}, { ...place, answers })).toEqual({ zoneId: "Z1" });
  });
});

describe("what AWS computes of a resource", () => {
  it("is an address of the place that is recorded", () => {
    expect(attributesOf("aws:sqs/queue:Queue", "Runs", { name: "runs" }, place)).toEqual({
      id: "http://127.0.0.1:4566/123456789012/runs",
      url: "http://127.0.0.1:4566/123456789012/runs",
      arn: "arn:aws:sqs:eu-central-1:123456789012:runs",
    });
  });

  it("is refused where the program has left the name to chance", () => {
    expect(() => attributesOf("aws:sqs/queue:Queue", "Runs", {}, place)).toThrow('"name" is missing');
  });
});
