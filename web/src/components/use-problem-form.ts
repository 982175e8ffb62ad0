import { useState } from 'react';
import { ApiProblem, type FieldError } from '../api/problems';
import { useErrorTexts } from '../texts/use-error-texts';

/** The state of a form that the API validates. */
export interface ProblemForm {
  /** Sends the form. Returns whether it succeeded; otherwise `problem` and `errorOf` say why. */
  submit: (send: () => Promise<unknown>) => Promise<boolean>;
  isSending: boolean;
  /** the problem, unless each of its errors is shown at a field */
  problem: unknown;
  /** Returns the error text of a field by its name (`email`) or pointer (`/attributes/tier`). */
  errorOf: (field: string) => string | undefined;
  /** Returns the error of a field as the API reports it. */
  fieldErrorOf: (field: string) => FieldError | undefined;
  /** Shows a problem of another request. */
  show: (problem: unknown) => void;
  /** Removes the problem. */
  clear: () => void;
}

/**
 * Sends a form, and assigns the errors of the response to its fields.
 * @param fields fields of the form; errors of other fields belong into a `ProblemAlert`
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
  const fieldErrorOf = (field: string) => errors.find(({ pointer }) => isAt(pointer, field));
  return {
    isSending,
    fieldErrorOf,
    problem: isShown ? null : error,
    errorOf: (field) => {
      const invalid = fieldErrorOf(field);
      return invalid === undefined ? undefined : fieldTextOf(invalid);
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
