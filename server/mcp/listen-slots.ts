import { largestGroup } from './largest-group.ts'

/** How many streams of `subscriptions/listen` may be open, all together and those of one user. */
export interface ListenLimits {
  total: number
  perUser: number
}

/** A place for one stream, from the moment it is asked for. */
export interface ListenPlace {
  userId: string
  /** Aborted when somebody with fewer streams needs the place. */
  taken: AbortSignal
  leave(): void
}

/** The places of this process. */
export interface ListenPlaces {
  /** Undefined when there is none for that user. */
  take(userId: string): ListenPlace | undefined
}

/**
 * Bounds the streams of `subscriptions/listen`. A place is taken before anything is awaited, so that many requests at once get
 * no more than as many one after the other. When all are taken, whoever has the most gives the oldest one up, if that leaves
 * them with no fewer than the newcomer: nobody can keep all others out.
 */
export function createListenPlaces({ total, perUser }: ListenLimits): ListenPlaces {
  const places = new Set<ListenPlace & { end: () => void }>()

  function makeRoom(own: number): boolean {
    const most = largestGroup(places)
    const [oldest] = most
    if (!oldest || most.length <= own + 1) return false
    oldest.leave()
    oldest.end()
    return true
  }

  return {
    take(userId) {
      const own = [...places].filter((place) => place.userId === userId).length
      if (own >= perUser || (places.size >= total && !makeRoom(own))) return undefined
      const ending = new AbortController()
      const place = {
        userId,
        taken: ending.signal,
        end: () => ending.abort(),
        leave: () => void places.delete(place),
      }
      places.add(place)
      return place
    },
  }
}
