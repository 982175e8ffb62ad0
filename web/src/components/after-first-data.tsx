import { type ReactNode, Suspense, use } from 'react';
import { firstData } from '../api/first-data';

/** Renders parts of the console after the first data, so that their code does not delay it. */
export function AfterFirstData({ children }: { children: ReactNode }): ReactNode {
  return (
    <Suspense>
      <Waiting>{children}</Waiting>
    </Suspense>
  );
}

function Waiting({ children }: { children: ReactNode }): ReactNode {
  use(firstData);
  return children;
}
