import { afterEach, beforeEach } from 'vitest'
import type { Store } from '../../../server/core/store.ts'
import { race } from '../server/core/grant-sample.ts'

/** A fresh and empty store of the suite. */
export interface OpenedStore {
  store: Store
  /** Closes the store and opens its data again. */
  reopen: () => Promise<Store>
  /** Opens another instance on the same data. */
  openSecond: () => Promise<Store>
}

/** The stores of the running test. */
export interface StoreInstances {
  store(): Store
  /** Runs `work` fifty times at once, spread over two instances. */
  race<Result>(work: (store: Store, index: number) => Promise<Result>): Promise<Result[]>
  /** Reopens the store, which loses writes that were not durable. */
  reopen(): Promise<void>
}

/** Opens a store before each test of the current suite and closes it afterwards. */
export function useInstances(open: () => Promise<OpenedStore>): StoreInstances {
  let opened: OpenedStore
  let second: Store | undefined
  beforeEach(async () => {
    opened = await open()
    second = undefined
  })
  afterEach(async () => {
    await second?.close()
    await opened.store.close()
  })
  return {
    store: () => opened.store,
    async race(work) {
      const other = (second ??= await opened.openSecond())
      return race((index) => work(index % 2 === 0 ? opened.store : other, index))
    },
    async reopen() {
      opened.store = await opened.reopen()
    },
  }
}
