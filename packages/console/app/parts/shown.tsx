import { memo } from "react";
import { piecesOf } from "./hidden-characters.ts";

/**
 * Text that somebody else wrote, such as names, notes, payloads: as text and nothing more, isolated from the direction of what
 * stands around it, with what cannot be seen in it made visible (faults.md S19).
 */
export const Shown = memo(function Shown({ text, className }: { text: string; className?: string }) {
  return (
    <bdi className={className}>
      {piecesOf(text).map((piece, index) =>
        piece.kind === "text" ? (
          piece.text
        ) : (
          <span key={index} className="hidden-character" title={`${piece.code} ${piece.name}`}>
            {piece.code}
          </span>
        ),
      )}
    </bdi>
  );
});
