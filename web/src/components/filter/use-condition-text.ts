import { own } from '../../own';
import { useFormats } from '../../texts/formats';
import { timeOf } from '../../texts/time-of';
import { useShellTexts } from '../../texts/use-shell-texts';
import { attributePrefix, type Condition, type FilterFields, type FilterNames } from './conditions';

/** Maximum number of values that a text names. */
const valuesShown = 5;

/** Returns a function that formats a condition as text, such as "Status is Active". */
export function useConditionText(fields: FilterFields, names: FilterNames): (condition: Condition) => string {
  const { filter: texts } = useShellTexts();
  const { minute } = useFormats();
  return ({ field, operator, value }) => {
    const name = field.startsWith(attributePrefix)
      ? `${texts.attribute} ${field.slice(attributePrefix.length)}`
      : (own(names.fields, field) ?? field);
    if (field === 'q') return `${name}: ${value}`;
    if (operator === '_isnull') return `${name} ${texts.isNull[value === 'false' ? 'false' : 'true']}`;
    const { kind } = own(fields, field) ?? {};
    const shown = (one: string) => {
      if (kind === 'boolean') return one === 'true' ? texts.yes : texts.no;
      // The URL may contain anything, also invalid times.
      const time = kind === 'time' ? timeOf(one) : null;
      return time === null ? (own(own(names.choices ?? {}, field) ?? {}, one) ?? one) : minute.format(time);
    };
    const list = operator === '_in' ? value.split(',') : [value];
    const values = list.length > valuesShown ? texts.values(String(list.length)) : list.map(shown).join(', ');
    return `${name} ${texts.operators[operator === '' ? 'equals' : operator]} ${values}`;
  };
}
