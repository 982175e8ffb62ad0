/** `Type` with its `Date` fields replaced by `Time`. */
export type Timed<Type, Time> = {
  [Key in keyof Type]: Type[Key] extends Date ? Time : Type[Key] extends Date | null ? Time | null : Type[Key];
};

/**
 * `Type` as the database returns it as JSON: times are RFC 3339 texts in UTC, with milliseconds.
 */
export type Answered<Type> = Timed<Type, string>;
