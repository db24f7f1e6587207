import { afterEach, beforeEach } from 'vitest'
import type { Store } from '../../../server/core/store.ts'
import { race } from '../server/core/grant-sample.ts'

/** A fresh and empty store of the suite. */
export interface OpenedStore {
  store: Store
  /** Closes the store and opens its data again; missing for a driver that keeps nothing. */
  reopen?: () => Promise<Store>
  /** Opens another instance on the same data; missing for a driver that supports only one. */
  openSecond?: () => Promise<Store>
}

/** The stores of the running test. */
export interface StoreInstances {
  store(): Store
  /** Runs `work` fifty times at once, spread over both instances where the driver supports a second one. */
  race<Result>(work: (store: Store, index: number) => Promise<Result>): Promise<Result[]>
  /** Reopens the store, which forgets what was not durable. False for a driver that keeps nothing. */
  reopen(): Promise<boolean>
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
      second ??= await opened.openSecond?.()
      const stores = [opened.store, second ?? opened.store]
      return race((index) => work(stores[index % 2] ?? opened.store, index))
    },
    async reopen() {
      if (!opened.reopen) return false
      opened.store = await opened.reopen()
      return true
    },
  }
}
