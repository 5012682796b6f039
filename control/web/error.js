// A page in place of an error. The controller has written it; it is complete without this script.

document.body.dataset.drawn = 'done';
