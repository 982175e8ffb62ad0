import { Alert, Anchor, Button, Group, Select, SimpleGrid, Stack, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import type { ReactNode } from 'react';
import { ProblemAlert } from '../components/problem-alert';
import { Section } from '../components/section';
import { type Language, useLanguage } from '../texts/language';
import { useAccountTexts } from './use-account-texts';
import { type ProfileEditor, type ProfileField, useProfile } from './use-profile';

/** Edits the user's own name, phone, job title, language and time zone. */
export function ProfileSection(): ReactNode {
  const all = useAccountTexts();
  const texts = all.profile;
  const profile = useProfile();
  const save = async () => {
    if (await profile.save()) notifications.show({ message: all.saved });
  };
  const text = (field: ProfileField) => ({
    value: profile.valueOf(field),
    onChange: (event: React.ChangeEvent<HTMLInputElement>) => profile.change(field, event.currentTarget.value),
    error: profile.form.errorOf(field),
  });
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
            <TextInput label={texts.firstName} autoComplete="given-name" maxLength={100} {...text('first_name')} />
            <TextInput label={texts.lastName} autoComplete="family-name" maxLength={100} {...text('last_name')} />
            <TextInput
              label={texts.phone}
              type="tel"
              autoComplete="tel"
              description={texts.phoneHint}
              inputWrapperOrder={['label', 'input', 'description', 'error']}
              {...text('phone')}
              error={profile.form.errorOf('phone') === undefined ? undefined : texts.phoneError}
            />
            <TextInput
              label={texts.jobTitle}
              autoComplete="organization-title"
              maxLength={100}
              {...text('job_title')}
            />
            <LocaleSelect profile={profile} />
            <ZoneSelect profile={profile} />
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

/** Returns language tags with their names, always including the current tag. */
function localesOf(current: string, language: Language): { value: string; label: string }[] {
  const names = new Intl.DisplayNames(language, { type: 'language', fallback: 'code' });
  return [...new Set(['en', 'de', ...(current === '' ? [] : [current])])].map((value) => ({
    value,
    label: names.of(value) ?? value,
  }));
}

function LocaleSelect({ profile }: { profile: ProfileEditor }): ReactNode {
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

function ZoneSelect({ profile }: { profile: ProfileEditor }): ReactNode {
  const texts = useAccountTexts().profile;
  const value = profile.valueOf('timezone');
  const zones = new Set([...Intl.supportedValuesOf('timeZone'), 'UTC', deviceZone, ...(value === '' ? [] : [value])]);
  return (
    <Stack gap={4}>
      <Select
        label={texts.timezone}
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
