// The places of the texts of an item: drawn for each worker and item, so that a habit of choosing a place favours no text.
// The draw depends on the assignment alone: a reload shows the same, and the owner sees the order of the item.
function hash(text) {
  let number = 2166136261;
  for (const character of text) number = Math.imul(number ^ character.codePointAt(0), 16777619);
  number = Math.imul(number ^ (number >>> 15), 2246822507);
  number = Math.imul(number ^ (number >>> 13), 3266489909);
  return (number ^ (number >>> 16)) >>> 0;
}

export function places(item, count) {
  const order = Array.from({ length: count }, (_, place) => place);
  if (!item.lease) return order;
  return order.sort((one, other) => hash(`${item.lease}/${one}`) - hash(`${item.lease}/${other}`));
}
