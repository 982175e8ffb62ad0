import { useEffect, useRef, useState } from 'react';
import { ApiProblem, type FieldError } from '../../api/problems';
import { own } from '../../own';
import { useErrorTexts } from '../../texts/use-error-texts';
import { useDialogSending } from '../dialogs/dialog';

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

/** Fields of conflicts, whose responses name no field. */
const conflictFields: Record<string, string> = {
  'user.name_taken': '/name',
  'user.email_taken': '/email',
  'role.name_taken': '/name',
  'role.in_use': '/user_types',
};

/**
 * Sends a form, and assigns the errors of the response to its fields.
 * Then the first invalid field gets the focus; without one, the form scrolls to its `ProblemAlert`.
 * @param fields fields of the form; errors of other fields belong into a `ProblemAlert`
 */
export function useProblemForm(fields: readonly string[] = []): ProblemForm {
  const [error, setError] = useState<unknown>(null);
  const [isSending, setIsSending] = useState(false);
  const setDialogSending = useDialogSending();
  const { textOf, sentenceOf } = useErrorTexts();
  const sent = useRef<Element | null>(null);
  useEffect(() => {
    if (error !== null && !isSending) revealError(sent.current);
  }, [error, isSending]);
  const errors = error instanceof ApiProblem ? errorsOf(error, textOf(error)) : [];
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
      return invalid === undefined ? undefined : sentenceOf(invalid);
    },
    show: setError,
    clear: () => setError(null),
    submit: async (send) => {
      // The button that sends the form loses the focus while it is disabled.
      sent.current = document.activeElement?.closest('form') ?? null;
      setIsSending(true);
      setDialogSending(true);
      try {
        await send();
        setError(null);
        return true;
      } catch (caught) {
        setError(caught);
        return false;
      } finally {
        setIsSending(false);
        setDialogSending(false);
      }
    },
  };
}

/** Returns the errors of fields. A conflict is an error of the field that it is about. */
function errorsOf({ code, errors }: ApiProblem, text: string): FieldError[] {
  const pointer = own(conflictFields, code);
  return pointer === undefined ? errors : [{ pointer, code, detail: text }];
}

/** Moves the focus to the first invalid field of a form, or scrolls to its alert. */
function revealError(form: Element | null): void {
  const field = form?.querySelector<HTMLElement>('[aria-invalid=true]');
  if (field) field.focus();
  else form?.querySelector('[role=alert]')?.scrollIntoView({ block: 'center' });
}
