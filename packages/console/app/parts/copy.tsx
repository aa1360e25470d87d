import { useState } from "react";

/** Puts a text on the clipboard and says so. */
export function Copy({ text, what = "it" }: { text: string; what?: string }) {
  const [said, setSaid] = useState<"" | "Copied" | "Refused">("");
  const copy = (): void => {
    navigator.clipboard.writeText(text).then(
      () => setSaid("Copied"),
      () => setSaid("Refused"),
    );
    setTimeout(() => setSaid(""), 2_000);
  };
  return (
    <button type="button" className="plain small copy" onClick={copy} aria-label={`Copy ${what}`}>
      {said === "" ? "Copy" : said}
    </button>
  );
}
