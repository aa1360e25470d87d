/** One of a few, as a row of chips. */
export function Choice<Value extends string>({
  name,
  values,
  chosen,
  onChoose,
}: {
  name: string;
  values: readonly (readonly [Value, string])[];
  chosen: Value;
  onChoose: (value: Value) => void;
}) {
  return (
    <div className="chips" role="group" aria-label={name}>
      {values.map(([value, text]) => (
        <button
          key={value}
          type="button"
          className="chip"
          aria-pressed={value === chosen}
          onClick={() => onChoose(value)}
        >
          {text}
        </button>
      ))}
    </div>
  );
}
