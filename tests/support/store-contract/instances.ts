import { afterEach, beforeEach } from 'vitest'
import type { Store } from '../../../server/core/store.ts'
import { race } from '../server/core/grant-sample.ts'

/** A store of the suite, fresh and empty. */
export interface OpenedStore {
  store: Store
  /** Closes the store and opens what it left behind; a driver that keeps nothing has none. */
  reopen?: () => Promise<Store>
  /** Another instance on the same data; a driver for a single instance has none. */
  openSecond?: () => Promise<Store>
}

/** The stores of the test that runs. */
export interface StoreInstances {
  store(): Store
  /** Runs `work` fifty times at once, spread over both instances where the driver allows a second one. */
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
