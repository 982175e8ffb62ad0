import { invalid } from '../common/errors/app-error';

/** An object with exactly one of the fields. */
type OneOf<Proofs> = { [Name in keyof Proofs]-?: Record<Name, NonNullable<Proofs[Name]>> }[keyof Proofs];

/**
 * Returns the proofs of a request if there is exactly one.
 * @throws request.invalid
 */
export function onlyProofOf<Proofs extends object>(proofs: Proofs): OneOf<Proofs> {
  const [first, second] = Object.keys(proofs);
  if (first === undefined)
    throw invalid({ pointer: '', code: 'field.required', detail: 'must contain one of the ways to authenticate' });
  if (second !== undefined)
    throw invalid({
      pointer: `/${second}`,
      code: 'field.not_allowed',
      detail: `must not be sent together with ${first}`,
    });
  return proofs as OneOf<Proofs>;
}
