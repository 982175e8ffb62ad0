import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import { useShellTexts } from '../../texts/use-shell-texts';
import { Form } from '../forms/form';
import { FormActions } from '../page';
import { ProblemAlert } from '../forms/problem-alert';
import type { Draft } from './use-draft';
import { type FieldTexts, VersionDialog } from './version-dialog';
import { WaitingNotice } from './waiting-notice';

interface DraftFormProps<Values> extends FieldTexts<Values> {
  draft: Draft<Values>;
  /** text of the button that sends the form; default = "Save" */
  submitLabel?: string;
  children: ReactNode;
}

/**
 * The form of a draft. Offers to save or discard as soon as something is changed, and asks which
 * values to keep if the record was saved elsewhere.
 */
export function DraftForm<Values extends object>(props: DraftFormProps<Values>): ReactNode {
  const { draft, names, textOf, submitLabel, children } = props;
  const { isNew, changed, form, conflict } = draft;
  const texts = useShellTexts();
  return (
    <Form onSubmit={draft.save}>
      {children}
      {conflict === null && <ProblemAlert error={form.problem} />}
      {conflict === null && <WaitingNotice draft={draft} />}
      {(isNew || changed.length > 0) && (
        <FormActions>
          {!isNew && (
            <Button variant="default" onClick={draft.discard} disabled={form.isSending}>
              {texts.unsaved.leave}
            </Button>
          )}
          <Button type="submit" loading={form.isSending}>
            {submitLabel ?? texts.draft.save}
          </Button>
        </FormActions>
      )}
      <VersionDialog draft={draft} names={names} textOf={textOf} />
    </Form>
  );
}
