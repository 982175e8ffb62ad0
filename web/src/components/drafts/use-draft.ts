import { notifications } from '@mantine/notifications';
import { useEffect, useRef, useState } from 'react';
import { isProblem } from '../../api/problems';
import { untilAvailable } from '../../api/until-available';
import { useShellTexts } from '../../texts/use-shell-texts';
import { useUnsavedChanges } from '../dialogs/unsaved-changes';
import { type ProblemForm, useProblemForm } from '../forms/use-problem-form';
import { changedFields, disputedFields, type FieldOf, pick, unsentEdits } from './draft';

/** What a draft changes, and how it is saved. */
export interface DraftSource<Item, Values> {
  /** the record as last read; undefined for a new one */
  record: Item;
  valuesOf: (record: Item) => Values;
  /** Reads the record again, after it was saved elsewhere. */
  read: () => Promise<Item>;
  /**
   * Saves the changed fields unless the record has another version than `base`.
   * @throws ApiProblem with status 412 for another version
   */
  save: (change: { base: Item; values: Values; changed: FieldOf<Values>[] }) => Promise<Item>;
  /** Shows a saved record. */
  onSaved: (saved: Item) => unknown;
  /** says that the changes are saved; default = a general text */
  savedText?: string;
}

/** Two versions of a record: the draft, and one saved elsewhere since the first change. */
export interface Conflict<Values> {
  before: Values;
  mine: Values;
  theirs: Values;
  /** time when the other version was saved, if the record has one */
  savedAt: string | undefined;
  /** fields that have a choice */
  disputed: FieldOf<Values>[];
}

/** The state of a form that changes a record. */
export interface Draft<Values> {
  isNew: boolean;
  values: Values;
  /** fields that differ from the record */
  changed: FieldOf<Values>[];
  set: (edits: Partial<Values>) => void;
  discard: () => void;
  form: ProblemForm;
  save: () => Promise<boolean>;
  /** whether `save` waits for a service that does not respond */
  isWaiting: boolean;
  stopWaiting: () => void;
  conflict: Conflict<Values> | null;
  /** Saves over the other version, but keeps its values of some fields. */
  resolve: (theirs: readonly FieldOf<Values>[]) => Promise<boolean>;
  cancelResolve: () => void;
}

interface Edit<Item, Values> {
  /** The version at the first edit. A later version must not silently become its base. */
  base: Item;
  edits: Partial<Values>;
}

/** Versions that a draft is rebased onto before it gives up. */
const attemptsMax = 3;

/**
 * Edits a record. Sends only what changed, and only over the version that the form started with. If
 * the record was saved elsewhere meanwhile, keeps the changes to other fields and sets `conflict`
 * for fields that both changed. While the service is not available, keeps the form and tries again.
 */
export function useDraft<Item, Values extends object>(source: DraftSource<Item, Values>): Draft<Values> {
  const { record, valuesOf } = source;
  const texts = useShellTexts().draft;
  const [edit, setEdit] = useState<Edit<Item, Values> | null>(null);
  const [theirs, setTheirs] = useState<{ record: Item } | null>(null);
  const [isWaiting, setIsWaiting] = useState(false);
  const waiting = useRef(new AbortController());
  useEffect(() => () => waiting.current.abort(), []);
  const current = edit ?? { base: record, edits: {} };
  const before = valuesOf(current.base);
  const values = { ...before, ...current.edits };
  const changed = changedFields(before, values);
  const form = useProblemForm(Object.keys(before));
  const isNew = record === undefined;
  useUnsavedChanges(changed.length > 0 && (!form.isSending || isWaiting));

  const request = <Result>(send: () => Promise<Result>): Promise<Result> =>
    isNew ? send() : untilAvailable(send, waiting.current.signal, () => setIsWaiting(true));
  const finish = async (saved: Item) => {
    await source.onSaved(saved);
    setTheirs(null);
    setEdit((now) => {
      const edits = now === null || isNew ? {} : unsentEdits(now.edits, current.edits);
      return Object.keys(edits).length === 0 ? null : { base: saved, edits };
    });
  };
  const send = async (base: Item, edits: Partial<Values>, attempt = 1): Promise<void> => {
    const from = valuesOf(base);
    const sent = { ...from, ...edits };
    const fields = changedFields(from, sent);
    try {
      // Nothing is left to send if the service saved a request whose response was lost.
      const isSaved = fields.length === 0 && !isNew;
      await finish(isSaved ? base : await request(() => source.save({ base, values: sent, changed: fields })));
      if (!isNew) notifications.show({ message: source.savedText ?? texts.saved });
    } catch (error) {
      if (!isProblem(error) || error.status !== 412 || attempt === attemptsMax) throw error;
      const latest = await request(source.read);
      if (disputedFields(from, sent, valuesOf(latest)).length > 0) setTheirs({ record: latest });
      else await send(latest, edits, attempt + 1);
    }
  };
  const submit = (work: () => Promise<unknown>) => {
    waiting.current = new AbortController();
    return form.submit(() => work().finally(() => setIsWaiting(false)));
  };

  return {
    isNew,
    values,
    changed,
    form,
    isWaiting,
    set: (edits) => setEdit((now) => ({ base: now?.base ?? record, edits: { ...now?.edits, ...edits } })),
    discard: () => {
      setEdit(null);
      form.clear();
    },
    save: () => submit(() => send(current.base, current.edits)),
    stopWaiting: () => waiting.current.abort(),
    conflict: theirs && {
      ...{ before, mine: values, theirs: valuesOf(theirs.record) },
      savedAt: (theirs.record as { updated_at?: string }).updated_at,
      disputed: disputedFields(before, values, valuesOf(theirs.record)),
    },
    resolve: (kept) => {
      if (theirs === null) return Promise.resolve(true);
      const mine = changed.filter((field) => !kept.includes(field));
      return submit(() => (mine.length > 0 ? send(theirs.record, pick(values, mine)) : finish(theirs.record)));
    },
    cancelResolve: () => setTheirs(null),
  };
}
