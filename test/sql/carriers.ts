import { carrierList } from '../../src/users/carriers.dto';
import { CarriersRepository } from '../../src/users/carriers.repository';
import { listQuery } from '../support/contract/list-queries';
import { administrator, carrierUser, limited, sqlExamples } from '../support/contract/sql-examples';

export const carriers = sqlExamples(CarriersRepository, {
  list: [
    [administrator, listQuery(carrierList, { page: '2', carrier_id_like: 'car' })],
    [limited, listQuery(carrierList, { order_dir: 'desc' })],
    [carrierUser, listQuery(carrierList, { carrier_id_ne: 'c2', count: 'none' })],
  ],
});
