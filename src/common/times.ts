/** What `Type` is when its times are of the type `Time`. */
export type Timed<Type, Time> = {
  [Key in keyof Type]: Type[Key] extends Date ? Time : Type[Key] extends Date | null ? Time | null : Type[Key];
};

/**
 * What is answered as it was read: its times are texts already (RFC 3339, in UTC, to the
 * millisecond).
 */
export type Answered<Type> = Timed<Type, string>;
