#!/usr/bin/env node
// In the syntax of any Node, so that an old one can say what is wrong instead of failing on what follows.
var major = parseInt(process.versions.node, 10);
if (!(major >= 24)) {
  process.stderr.write(
    "ghouls: Node.js 24 or newer is needed; this is " +
      process.versions.node +
      ".\n  Fix: install Node.js 24, or add it to the project: npm install --save-dev node@24, then run npx ghouls.\n",
  );
  process.exitCode = 1;
} else {
  // A reader that has seen enough (`ghouls runs | head`) is no failure.
  process.stdout.on("error", function (error) {
    if (error.code !== "EPIPE") throw error;
    // A host goes on without its reader, and ends in order.
    if (process.argv[2] !== "dev" && process.argv[2] !== "worker") process.exit(0);
  });
  import("@ghouls/cli")
    .then(function (cli) {
      return cli.run(process.argv.slice(2));
    })
    .then(
      function (code) {
        process.exitCode = code;
      },
      function (error) {
        process.stderr.write(
          "ghouls: " + error.message + "\n  Fix: reinstall ghouls; if it stays, report it.\n",
        );
        process.exitCode = 1;
      },
    );
}
