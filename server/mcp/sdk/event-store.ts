import type { EventStore, JSONRPCMessage } from '@modelcontextprotocol/server'

const eventLimits = { events: 256, bytes: 256 * 1024 }

/**
 * Keeps the latest messages of one session, so a client whose stream broke can ask for the messages after the last
 * one it saw (MCP 2025-11-25 transports, resumability and redelivery).
 *
 * Beyond `limits`, whose bytes count the messages as JSON, the oldest messages are dropped, and the rest of the stream is still replayed. A single message
 * over the limits is not kept, nor anything before it on its stream: the replay would look complete. An id whose
 * stream has nothing left is unknown. Ids are unique within the session only.
 */
export function createEventStore(limits: { events: number; bytes: number } = eventLimits): EventStore {
  let events: { streamId: string; sequence: number; message: JSONRPCMessage; bytes: number }[] = []
  let sequence = 0

  const streamOf = (eventId: string): string | undefined => {
    const streamId = parseEventId(eventId)?.streamId
    return events.some((event) => event.streamId === streamId) ? streamId : undefined
  }

  return {
    storeEvent: async (streamId, message) => {
      sequence += 1
      const event = { streamId, sequence, message, bytes: JSON.stringify(message).length }
      if (event.bytes > limits.bytes) {
        events = events.filter((other) => other.streamId !== streamId)
      } else {
        events.push(event)
      }
      let bytes = events.reduce((sum, each) => sum + each.bytes, 0)
      while (events.length > limits.events || bytes > limits.bytes) bytes -= events.shift()?.bytes ?? 0
      return `${sequence}_${streamId}`
    },
    getStreamIdForEventId: async (eventId) => streamOf(eventId),
    async replayEventsAfter(lastEventId, { send }) {
      const last = parseEventId(lastEventId)
      const streamId = streamOf(lastEventId)
      if (last === undefined || streamId === undefined) throw new RangeError('The event id is unknown.')
      const later = events.filter((event) => event.streamId === streamId && event.sequence > last.sequence)
      for (const event of later) await send(`${event.sequence}_${streamId}`, event.message)
      return streamId
    },
  }
}

function parseEventId(eventId: string): { sequence: number; streamId: string } | undefined {
  const [, sequence, streamId] = /^(\d{1,15})_(.{1,100})$/.exec(eventId) ?? []
  return sequence === undefined || streamId === undefined
    ? undefined
    : { sequence: Number(sequence), streamId }
}
