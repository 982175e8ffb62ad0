import { Badge, Group, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import mark from '../icon.svg';
import { installation } from '../installation';
import classes from './brand.module.css';

/** Shows the mark, the name of the product, and the environment. */
export function Brand(): ReactNode {
  const { product, environment, color } = installation;
  return (
    <Group component="span" gap="xs" wrap="nowrap" miw={0}>
      <img src={mark} alt="" width={24} height={24} className={classes.mark} />
      <Text component="span" fw={600} fz="lg" truncate title={product}>
        {product}
      </Text>
      {environment !== '' && (
        <Badge component="span" color={color} variant="light" fw={600}>
          {environment}
        </Badge>
      )}
    </Group>
  );
}
