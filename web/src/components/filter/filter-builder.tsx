import { Button, Group, Pill, Popover, Skeleton, UnstyledButton } from '@mantine/core';
import { IconFilterPlus } from '@tabler/icons-react';
import { type KeyboardEvent, type ReactNode, Suspense, useRef, useState } from 'react';
import { useShellTexts } from '../../texts/use-shell-texts';
import { lazyPart } from '../boundary';
import type { ListParams } from '../lists/use-list-params';
import { type Condition, conditionsOf, type FilterFields, type FilterNames, parameterOf } from './conditions';
import classes from './filter-builder.module.css';
import { useConditionText } from './use-condition-text';

const ConditionForm = lazyPart(async () => (await import('./condition-form')).ConditionForm);

interface FilterBuilderProps {
  /** fields of the list */
  fields: FilterFields;
  names: FilterNames;
  params: ListParams<object>;
  /** parameters with their own controls, such as `q`; they get no pill */
  shownElsewhere?: readonly string[];
  /** Called before the form of a condition opens, to load what it suggests. */
  onOpen?: () => void;
  /** whether a text must be equal instead of contained by default, as before a bulk change */
  isExact?: boolean;
}

/**
 * Adds, changes and removes the conditions of a list in the URL. Place it in a flex row: the
 * conditions wrap below the row.
 */
export function FilterBuilder({
  fields,
  names,
  params,
  shownElsewhere = [],
  onOpen,
  isExact = false,
}: FilterBuilderProps): ReactNode {
  const { filter: texts } = useShellTexts();
  const describe = useConditionText(fields, names);
  const button = useRef<HTMLButtonElement>(null);
  // The condition to change, 'new', or null while the popover is closed.
  const [edited, setEdited] = useState<Condition | 'new' | null>(null);
  const conditions = conditionsOf(params.values, fields).filter(
    (condition) => !shownElsewhere.includes(parameterOf(condition)),
  );
  const offered = Object.fromEntries(
    Object.entries(fields).filter(([name]) => name !== 'q' || !shownElsewhere.includes(name)),
  );
  const open = (condition: Condition | 'new') => {
    onOpen?.();
    setEdited(condition);
  };
  const close = () => {
    setEdited(null);
    button.current?.focus();
  };
  const closeOnEscape = ({ key, target }: KeyboardEvent) => {
    if (key === 'Escape' && (target as Element).ariaExpanded !== 'true') close();
  };
  const apply = (condition: Condition) => {
    const replaced = edited === null || edited === 'new' ? {} : { [parameterOf(edited)]: null };
    params.set({ ...replaced, [parameterOf(condition)]: condition.value });
    close();
  };
  return (
    <>
      <Popover
        opened={edited !== null}
        onDismiss={() => setEdited(null)}
        trapFocus
        // Otherwise Escape in an open dropdown would also close the popover.
        closeOnEscape={false}
        position="bottom-start"
        portalProps={{ target: '#content' }}
      >
        <Popover.Target>
          <Button
            ref={button}
            variant="default"
            size="xs"
            leftSection={<IconFilterPlus size={16} aria-hidden />}
            onClick={() => (edited === null ? open('new') : setEdited(null))}
          >
            {texts.add}
          </Button>
        </Popover.Target>
        <Popover.Dropdown aria-label={texts.add} onKeyDown={closeOnEscape}>
          {edited !== null && (
            <Suspense fallback={<Skeleton width={260} height={60} />}>
              <ConditionForm
                key={edited === 'new' ? '' : parameterOf(edited)}
                fields={offered}
                names={names}
                initial={edited === 'new' ? undefined : edited}
                isExact={isExact}
                onApply={apply}
              />
            </Suspense>
          )}
        </Popover.Dropdown>
      </Popover>
      {conditions.length > 0 && (
        <Group gap="xs" className={classes.conditions}>
          {conditions.map((condition) => {
            const text = describe(condition);
            return (
              <Pill
                key={parameterOf(condition)}
                size="md"
                withRemoveButton
                removeButtonProps={{ 'aria-label': texts.remove(text), 'aria-hidden': false, tabIndex: 0 }}
                onRemove={() => {
                  params.set({ [parameterOf(condition)]: null });
                  button.current?.focus();
                }}
              >
                <UnstyledButton
                  fz="inherit"
                  title={`${text}\n${texts.change}`}
                  className={classes.condition}
                  onClick={() => open(condition)}
                >
                  {text}
                </UnstyledButton>
              </Pill>
            );
          })}
          <Button
            variant="subtle"
            color="gray"
            size="compact-xs"
            onClick={() => {
              params.clear();
              button.current?.focus();
            }}
          >
            {texts.clear}
          </Button>
        </Group>
      )}
    </>
  );
}
