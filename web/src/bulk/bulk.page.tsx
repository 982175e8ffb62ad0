import { Button, Group, Radio, Stack, Text } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { useNavigate, useSearchParams } from 'react-router';
import { isProblem } from '../api/problems';
import { changed } from '../api/stale';
import { FilterBuilder } from '../components/filter/filter-builder';
import { useListParams } from '../components/lists/use-list-params';
import { BackLink, PageHeader, Section } from '../components/page';
import { ProblemAlert } from '../components/forms/problem-alert';
import { useProblemForm } from '../components/forms/use-problem-form';
import { useMe } from '../session/use-me';
import { userFilters, useUserFilterNames } from '../users/use-user-filter';
import { BulkPreview } from './bulk-preview';
import { type BulkAction, type Change, changeFields, isComplete, readyChanges } from './change';
import { ChangeEditor } from './change-editor';
import { type BulkRequest, confirmBulk, type Preview, previewBulk } from './data';
import { useBulkTexts } from './use-bulk-texts';

/** A preview with the request that it belongs to. */
interface Previewed {
  request: BulkRequest;
  preview: Preview;
  isRenewed: boolean;
}

/** Changes or deletes the users that match the filter in the URL: choose, preview, confirm. */
export function BulkPage(): ReactNode {
  const texts = useBulkTexts();
  const { can } = useMe();
  const navigate = useNavigate();
  const modes = (['change', 'disable', 'invite', 'delete'] as const).filter((one) =>
    can(one === 'delete' ? 'user:delete' : 'user:update'),
  );
  const filterNames = useUserFilterNames();
  const params = useListParams<object>(userFilters);
  const [mode, setMode] = useState<BulkAction>(modes[0] ?? 'change');
  const [change, setChange] = useState<Change>({});
  const [previewed, setPreviewed] = useState<Previewed | null>(null);
  const form = useProblemForm(Object.keys(changeFields));
  const [search] = useSearchParams();
  const filters = filtersOf(search);
  const requestOf = (action: BulkAction): BulkRequest => ({
    filters,
    change: action === 'change' ? change : readyChanges[action],
  });
  const request = requestOf(mode);
  // Hide the preview of another request: it must not be confirmed.
  const current = JSON.stringify(previewed?.request) === JSON.stringify(request) ? previewed : null;
  const preview = (wanted: BulkRequest, isRenewed = false) =>
    form.submit(async () => setPreviewed({ request: wanted, preview: await previewBulk(wanted), isRenewed }));
  const choose = (action: BulkAction) => {
    setMode(action);
    form.clear();
    // The other actions need no input.
    if (action !== 'change') void preview(requestOf(action));
  };
  const confirm = async ({ preview: confirmed }: Previewed) => {
    try {
      const operation_id = await confirmBulk(request, confirmed);
      void changed('operations');
      await navigate(`/operations/${operation_id}`);
    } catch (error) {
      if (!isProblem(error, 'bulk.set_changed')) throw error;
      await preview(request, true);
    }
  };
  const selectedCount = filters['user_id_in']?.split(',').length;
  const isFiltered = Object.keys(filters).length > 0;
  return (
    <>
      <BackLink to="/users">{texts.back}</BackLink>
      <PageHeader title={texts.title} description={texts.text} />
      <Stack gap="md">
        <Section title={texts.selection}>
          <Text size="sm" mb="xs">
            {selectedCount !== undefined ? texts.selected(selectedCount) : isFiltered ? texts.matching : texts.everyone}
          </Text>
          {selectedCount === undefined && (
            <Group gap="xs">
              <FilterBuilder fields={userFilters} names={filterNames} params={params} isExact />
            </Group>
          )}
          {selectedCount === undefined && !isFiltered && (
            <Text size="xs" c="dimmed" mt="xs">
              {texts.everyoneHint}
            </Text>
          )}
        </Section>
        <Section title={texts.what}>
          <Stack gap="md" align="stretch">
            {modes.length > 1 && (
              <Radio.Group value={mode} onChange={(value) => choose(value)} aria-label={texts.what}>
                <Group gap="lg">
                  {modes.map((one) => (
                    <Radio key={one} value={one} label={texts.modes[one]} />
                  ))}
                </Group>
              </Radio.Group>
            )}
            {mode === 'change' ? (
              <ChangeEditor change={change} onChange={setChange} form={form} />
            ) : (
              <Text size="sm">{texts.hints[mode]}</Text>
            )}
            <ProblemAlert error={form.problem} />
            <Group>
              <Button
                variant={current === null ? 'filled' : 'default'}
                loading={form.isSending}
                disabled={mode === 'change' && !isComplete(change)}
                onClick={() => void preview(request)}
              >
                {current === null ? texts.preview : texts.previewAgain}
              </Button>
            </Group>
          </Stack>
        </Section>
        {current !== null && <BulkPreview {...current} onConfirm={() => confirm(current)} />}
      </Stack>
    </>
  );
}

/**
 * Returns the filter in the URL, without the sort order of the list that linked here. Unknown
 * parameters stay, so that the service rejects them: without them, other users would match.
 */
function filtersOf(search: URLSearchParams): Record<string, string> {
  return Object.fromEntries([...search].filter(([name]) => name !== 'order_by' && name !== 'order_dir'));
}
