import { setTimeout as sleep } from 'node:timers/promises'
import { Adapter } from '@drawbridge/shared/mcp/adapter/adapter.ts'
import type { ProcessSlot, SlotClient } from './process-slot.ts'

/** Creates the adapter between a client of an earlier revision and its process of 2026-07-28. */
export function createProcessAdapter(client: SlotClient, slot: ProcessSlot): Adapter {
  const { runtime } = slot
  return new Adapter({
    notify: (notification) => client.send(notification),
    request: (method, params, options) => slot.request(method, params, options),
    discovered: slot.presentationFor(client.kind),
    runtime: {
      now: () => runtime.now(),
      randomBytes: (length) => runtime.randomBytes(length),
      sleep: (ms) => sleep(ms, undefined, { ref: false }),
    },
  })
}
