import { invalid } from '../../http/errors/app-error';

/** An object with exactly one of the fields. */
type OneOf<Proofs> = { [Name in keyof Proofs]-?: Record<Name, NonNullable<Proofs[Name]>> }[keyof Proofs];

/**
 * Returns the proofs of a request if there is exactly one.
 * @throws request.invalid
 */
export function onlyProofOf<Proofs extends object>(proofs: Proofs): OneOf<Proofs> {
  if (Object.keys(proofs).length === 0)
    throw invalid({ pointer: '', code: 'field.required', detail: 'must contain one of the ways to authenticate' });
  assertAtMostOne(proofs);
  return proofs as OneOf<Proofs>;
}

/**
 * Rejects fields that exclude each other. The error names the second field that was sent.
 * @throws request.invalid
 */
export function assertAtMostOne(fields: object): void {
  const sent = Object.entries(fields).filter(([, value]) => value !== undefined);
  const [first, second] = sent.map(([name]) => name);
  if (first === undefined || second === undefined) return;
  throw invalid({
    pointer: `/${second}`,
    code: 'field.not_allowed',
    detail: `must not be sent together with ${first}`,
    params: { field: first },
  });
}
