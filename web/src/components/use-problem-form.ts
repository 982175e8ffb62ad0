import { useState } from 'react';
import { ApiProblem, type FieldError } from '../api/problems';
import { useErrorTexts } from '../texts/use-error-texts';

/** The state of a form whose faults the API reports. */
export interface ProblemForm {
  /** Sends the form. Returns whether it succeeded; otherwise `problem` and `errorOf` say why. */
  submit: (send: () => Promise<unknown>) => Promise<boolean>;
  isSending: boolean;
  /** the problem, unless every fault of it stands at a field */
  problem: unknown;
  /**
   * Returns the fault of a field by its name (`email`) or pointer (`/attributes/tier`), for the
   * `error` of an input.
   */
  errorOf: (field: string) => string | undefined;
  /** Returns the fault of a field as the API reports it. */
  faultOf: (field: string) => FieldError | undefined;
  /** Shows a problem of another request. */
  show: (problem: unknown) => void;
  /** Forgets the problem. */
  clear: () => void;
}

/**
 * Puts the faults that the API reports at the fields they name. `fields` lists the fields of the
 * form; faults of other fields appear in the alert.
 */
export function useProblemForm(fields: readonly string[] = []): ProblemForm {
  const [error, setError] = useState<unknown>(null);
  const [isSending, setIsSending] = useState(false);
  const { fieldTextOf } = useErrorTexts();
  const errors = error instanceof ApiProblem ? error.errors : [];
  const pointerOf = (field: string) => (field.startsWith('/') ? field : `/${field}`);
  const isAt = (pointer: string | undefined, field: string) =>
    pointer !== undefined && (pointer === pointerOf(field) || pointer.startsWith(`${pointerOf(field)}/`));
  const isShown = errors.length > 0 && errors.every(({ pointer }) => fields.some((field) => isAt(pointer, field)));
  const faultOf = (field: string) => errors.find(({ pointer }) => isAt(pointer, field));
  return {
    isSending,
    faultOf,
    problem: isShown ? null : error,
    errorOf: (field) => {
      const fault = faultOf(field);
      return fault === undefined ? undefined : fieldTextOf(fault);
    },
    show: setError,
    clear: () => setError(null),
    submit: async (send) => {
      setIsSending(true);
      try {
        await send();
        setError(null);
        return true;
      } catch (caught) {
        setError(caught);
        return false;
      } finally {
        setIsSending(false);
      }
    },
  };
}
