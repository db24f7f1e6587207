import type { Runtime } from '@drawbridge/shared/runtime.ts'

const pageSize = 200

/** Reads a list of the store page by page, by id, starting after `after`, next to running servers. */
export async function* pagesOf<Row>(
  read: (page: { after: string; limit: number }) => Promise<Row[]>,
  idOf: (row: Row) => string,
  { sleep }: Pick<Runtime, 'sleep'>,
  after = '',
): AsyncGenerator<Row[]> {
  for (let last = after; ;) {
    const page = await read({ after: last, limit: pageSize })
    yield page
    const row = page.at(-1)
    if (page.length < pageSize || row === undefined) return
    last = idOf(row)
    // An in-process store reads synchronously: yield to its other users.
    await sleep(0)
  }
}
