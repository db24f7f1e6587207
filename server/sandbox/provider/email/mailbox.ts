/** A mail that would have been sent. */
export interface Mail {
  to: string
  subject: string
  code: string
  /** Left out when there is none. */
  link?: string
  /** Epoch seconds. */
  sentAt: number
}

const maxMails = 100

/** The mails of the embedded provider: none leaves this machine, and none outlives the process. */
export class Mailbox {
  #mails: readonly Mail[] = []

  add(mail: Mail): void {
    this.#mails = [mail, ...this.#mails].slice(0, maxMails)
  }

  /** Newest first. */
  list(): readonly Mail[] {
    return this.#mails
  }
}
