/** Opens or closes a dialog. The browser puts the focus into it, and back to where it came from. */
export function setOpen(dialog: HTMLDialogElement, isOpen: boolean): void {
  if (isOpen && !dialog.open) dialog.showModal()
  if (!isOpen && dialog.open) dialog.close()
}
