import { Anchor, Select, SimpleGrid, Stack, TextInput } from '@mantine/core';
import type { ReactNode } from 'react';
import { queryClient } from '../api/query-client';
import { changed } from '../api/stale';
import { DraftForm } from '../components/drafts/draft-form';
import { type Draft, useDraft } from '../components/drafts/use-draft';
import { Section } from '../components/page';
import { meQuery } from '../session/data';
import { type Me, useMe } from '../session/use-me';
import { type Language, useLanguage, useTexts } from '../texts/language';
import { changeUser } from '../users/data';
import { type FieldDefinition, fieldLabels, type PersonField, personFields, userFields } from '../users/fields';
import { useValueText } from '../users/use-value-text';
import { useAccountTexts } from './use-account-texts';

/** Edits what users change for themselves: the texts about the person. */
export function ProfileSection(): ReactNode {
  const { profile: texts } = useAccountTexts();
  const { user } = useMe();
  const names = useTexts(fieldLabels);
  const textOf = useValueText();
  const draft = useDraft({
    record: user,
    valuesOf,
    read: () => queryClient.fetchQuery({ ...meQuery(), staleTime: 0 }),
    save: async ({ base, values, changed: fields }) => {
      const body = Object.fromEntries(fields.map((field) => [field, values[field].trim() || null]));
      return { ...base, ...(await changeUser(base, body)) };
    },
    onSaved: () => changed('me'),
  });
  return (
    <DraftForm draft={draft} names={names} textOf={textOf}>
      <Section title={texts.title} description={texts.description}>
        <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="md">
          {personFields.map((field) => {
            const Line = lines[field] ?? TextLine;
            return <Line key={field} field={field} draft={draft} />;
          })}
        </SimpleGrid>
      </Section>
    </DraftForm>
  );
}

type Profile = Record<PersonField, string>;

function valuesOf(user: Me['user']): Profile {
  return Object.fromEntries(personFields.map((field) => [field, user[field] ?? ''])) as Profile;
}

interface LineProps {
  field: PersonField;
  draft: Draft<Profile>;
}

const lines: Partial<Record<PersonField, (props: LineProps) => ReactNode>> = {
  locale: LocaleSelect,
  timezone: ZoneSelect,
};

function TextLine({ field, draft }: LineProps): ReactNode {
  const texts = useAccountTexts().profile;
  const language = useLanguage();
  const { person, hint, [language]: label }: FieldDefinition = userFields[field];
  const error = draft.form.errorOf(field);
  return (
    <TextInput
      {...person}
      label={label}
      description={hint?.[language]}
      inputWrapperOrder={['label', 'input', 'description', 'error']}
      value={draft.values[field]}
      onChange={(event) => draft.set({ [field]: event.currentTarget.value })}
      error={field === 'phone' && error !== undefined ? texts.phoneError : error}
    />
  );
}

/** Returns language tags with their names, always including the current tag. */
function localesOf(current: string, language: Language): { value: string; label: string }[] {
  const names = new Intl.DisplayNames(language, { type: 'language', fallback: 'code' });
  return [...new Set(['en', 'de', ...(current === '' ? [] : [current])])].map((value) => ({
    value,
    label: names.of(value) ?? value,
  }));
}

function LocaleSelect({ draft }: LineProps): ReactNode {
  const texts = useAccountTexts().profile;
  const language = useLanguage();
  const value = draft.values.locale;
  return (
    <Select
      label={texts.locale}
      data={localesOf(value, language)}
      value={value === '' ? null : value}
      onChange={(next) => draft.set({ locale: next ?? '' })}
      placeholder={texts.notSet}
      error={draft.form.errorOf('locale')}
      checkIconPosition="right"
    />
  );
}

const deviceZone = Intl.DateTimeFormat().resolvedOptions().timeZone;

function ZoneSelect({ draft }: LineProps): ReactNode {
  const texts = useAccountTexts().profile;
  const labels = useTexts(fieldLabels);
  const value = draft.values.timezone;
  const zones = new Set([...Intl.supportedValuesOf('timeZone'), 'UTC', deviceZone, ...(value === '' ? [] : [value])]);
  return (
    <Stack gap={4}>
      <Select
        label={labels.timezone}
        data={[...zones]}
        value={value === '' ? null : value}
        onChange={(next) => draft.set({ timezone: next ?? '' })}
        placeholder={texts.notSet}
        error={draft.form.errorOf('timezone')}
        searchable
        limit={50}
        checkIconPosition="right"
      />
      {value !== deviceZone && (
        <Anchor
          component="button"
          type="button"
          size="xs"
          ta="start"
          onClick={() => draft.set({ timezone: deviceZone })}
        >
          {texts.useZone(deviceZone)}
        </Anchor>
      )}
    </Stack>
  );
}
