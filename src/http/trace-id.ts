/**
 * Version, trace id, parent id and flags. Ids are not all zeros, and version ff is forbidden.
 * Only later versions than 00 may contain further fields.
 */
const traceparent = /^(?!ff|00.{54})[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})[\da-f]{16}-[\da-f]{2}(?:-|$)/;

/**
 * Returns the trace id of the `traceparent` header, or undefined without a valid header.
 * @see https://www.w3.org/TR/trace-context/#traceparent-header
 */
export function traceIdOf({ traceparent: header }: Record<string, unknown>): string | undefined {
  return typeof header === 'string' ? traceparent.exec(header)?.[1] : undefined;
}
