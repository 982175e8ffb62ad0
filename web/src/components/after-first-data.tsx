import { type ReactNode, Suspense, use } from 'react';
import { firstData } from '../api/first-data';

interface AfterFirstDataProps {
  /** whether to render at once, for example because the user opened the part */
  isNeeded?: boolean;
  children: ReactNode;
}

/** Renders parts of the page after its first data, so that their code does not delay it. */
export function AfterFirstData(props: AfterFirstDataProps): ReactNode {
  return (
    <Suspense>
      <Waiting {...props} />
    </Suspense>
  );
}

function Waiting({ isNeeded = false, children }: AfterFirstDataProps): ReactNode {
  if (!isNeeded) use(firstData);
  return children;
}
