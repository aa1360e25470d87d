/**
 * The little of Lambda's SDK that is used, in a module of its own: what is loaded by `import()` comes whole, and the rest
 * of it would be most of a function's bytes.
 */
export { InvokeCommand, LambdaClient } from "@aws-sdk/client-lambda";
