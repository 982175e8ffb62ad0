import { Alert, Anchor, Button, Group, Select, SimpleGrid, Stack, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import type { ReactNode } from 'react';
import { Section } from '../components/page';
import { ProblemAlert } from '../components/problem-alert';
import { type Language, useLanguage, useTexts } from '../texts/language';
import { type FieldDefinition, fieldLabels, type PersonField, personFields, userFields } from '../users/fields';
import { useAccountTexts } from './use-account-texts';
import { type ProfileEditor, useProfile } from './use-profile';

/** Edits what users change for themselves: the texts about the person. */
export function ProfileSection(): ReactNode {
  const all = useAccountTexts();
  const texts = all.profile;
  const profile = useProfile();
  const save = async () => {
    if (await profile.save()) notifications.show({ message: all.saved });
  };
  return (
    <Section title={texts.title} description={texts.description}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        <Stack gap="md">
          {profile.isStale ? (
            <Alert role="alert" color="yellow">
              {texts.stale}
            </Alert>
          ) : (
            <ProblemAlert error={profile.form.problem} />
          )}
          <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="md">
            {personFields.map((field) => {
              const Line = lines[field] ?? TextLine;
              return <Line key={field} field={field} profile={profile} />;
            })}
          </SimpleGrid>
          <Group justify="flex-end">
            {profile.isChanged && (
              <Button variant="subtle" color="gray" onClick={profile.discard}>
                {texts.discard}
              </Button>
            )}
            <Button type="submit" loading={profile.form.isSending} disabled={!profile.isChanged}>
              {texts.save}
            </Button>
          </Group>
        </Stack>
      </form>
    </Section>
  );
}

interface LineProps {
  field: PersonField;
  profile: ProfileEditor;
}

const lines: Partial<Record<PersonField, (props: LineProps) => ReactNode>> = {
  locale: LocaleSelect,
  timezone: ZoneSelect,
};

function TextLine({ field, profile }: LineProps): ReactNode {
  const texts = useAccountTexts().profile;
  const language = useLanguage();
  const { person, hint, [language]: label }: FieldDefinition = userFields[field];
  const error = profile.form.errorOf(field);
  return (
    <TextInput
      {...person}
      label={label}
      description={hint?.[language]}
      inputWrapperOrder={['label', 'input', 'description', 'error']}
      value={profile.valueOf(field)}
      onChange={(event) => profile.change(field, event.currentTarget.value)}
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

function LocaleSelect({ profile }: LineProps): ReactNode {
  const texts = useAccountTexts().profile;
  const language = useLanguage();
  const value = profile.valueOf('locale');
  return (
    <Select
      label={texts.locale}
      data={localesOf(value, language)}
      value={value === '' ? null : value}
      onChange={(next) => profile.change('locale', next ?? '')}
      placeholder={texts.notSet}
      error={profile.form.errorOf('locale')}
      checkIconPosition="right"
    />
  );
}

const deviceZone = Intl.DateTimeFormat().resolvedOptions().timeZone;

function ZoneSelect({ profile }: LineProps): ReactNode {
  const texts = useAccountTexts().profile;
  const labels = useTexts(fieldLabels);
  const value = profile.valueOf('timezone');
  const zones = new Set([...Intl.supportedValuesOf('timeZone'), 'UTC', deviceZone, ...(value === '' ? [] : [value])]);
  return (
    <Stack gap={4}>
      <Select
        label={labels.timezone}
        data={[...zones]}
        value={value === '' ? null : value}
        onChange={(next) => profile.change('timezone', next ?? '')}
        placeholder={texts.notSet}
        error={profile.form.errorOf('timezone')}
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
          onClick={() => profile.change('timezone', deviceZone)}
        >
          {texts.useZone(deviceZone)}
        </Anchor>
      )}
    </Stack>
  );
}
