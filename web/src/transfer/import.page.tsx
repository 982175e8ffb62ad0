import { Button, Checkbox, Group, Progress, Radio, Stack, Text } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { useNavigate } from 'react-router';
import { changed } from '../api/stale';
import { BackLink, PageHeader, Section } from '../components/page';
import { ProblemAlert } from '../components/problem-alert';
import { newIdempotencyKey } from '../components/use-idempotency-key';
import { useProblemForm } from '../components/use-problem-form';
import { useMe } from '../session/use-me';
import { useTexts } from '../texts/language';
import { FileDrop } from './file-drop';
import { ImportReport } from './import-report';
import { checkFile, importFile, type ImportOptions, type ImportPreview } from './import-requests';
import { transferTexts as de } from './texts.de';
import { transferTexts as en } from './texts.en';

/** The result of a check. */
interface Checked {
  preview: ImportPreview;
  /** idempotency key of the import that follows */
  key: string;
}

/** Imports users from a file: select, check, import. */
export function ImportPage(): ReactNode {
  const texts = useTexts({ en, de }).import;
  const { can } = useMe();
  const navigate = useNavigate();
  const form = useProblemForm();
  const [file, setFile] = useState<File | null>(null);
  const [options, setOptions] = useState<ImportOptions>({ on_conflict: 'fail', invite: false });
  const [checked, setChecked] = useState<Checked | null>(null);
  const discardCheck = () => {
    setChecked(null);
    form.clear();
  };
  const choose = (changes: Partial<ImportOptions>) => {
    discardCheck();
    setOptions({ ...options, ...changes });
  };
  const check = (chosen: File) =>
    form.submit(async () => setChecked({ preview: await checkFile(chosen, options), key: newIdempotencyKey() }));
  const start = async (chosen: File, key: string) => {
    const operation_id = await importFile(chosen, options, key);
    void changed('operations');
    await navigate(`/operations/${operation_id}`);
  };
  return (
    <>
      {can('user:read') && <BackLink to="/users">{texts.back}</BackLink>}
      <PageHeader title={texts.title} description={texts.text} />
      <Stack gap="md">
        <Section title={texts.source}>
          <Stack gap="md">
            <FileDrop
              file={file}
              onChange={(chosen) => {
                discardCheck();
                setFile(chosen);
              }}
            />
            <Radio.Group
              label={texts.onConflict}
              value={options.on_conflict}
              onChange={(value) => choose({ on_conflict: value === 'skip' ? value : 'fail' })}
            >
              <Group gap="lg" mt="xs">
                <Radio value="fail" label={texts.fail} />
                <Radio value="skip" label={texts.skip} />
              </Group>
            </Radio.Group>
            <Checkbox
              label={texts.invite}
              checked={options.invite}
              onChange={(event) => choose({ invite: event.currentTarget.checked })}
            />
            <ProblemAlert error={form.problem} />
            <Group>
              <Button
                variant={checked === null ? 'filled' : 'default'}
                disabled={file === null}
                loading={form.isSending}
                onClick={() => file !== null && void check(file)}
              >
                {texts.check}
              </Button>
            </Group>
            {form.isSending && (
              <div>
                <Text size="sm" role="status" mb={4}>
                  {texts.checking} {texts.keepOpen}
                </Text>
                <Progress value={100} animated aria-label={texts.checking} />
              </div>
            )}
          </Stack>
        </Section>
        {file !== null && checked !== null && !form.isSending && (
          <ImportReport
            key={checked.key}
            file={file}
            preview={checked.preview}
            invites={options.invite}
            onImport={() => start(file, checked.key)}
          />
        )}
      </Stack>
    </>
  );
}
