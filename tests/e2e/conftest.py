def pytest_configure(config):
    config.addinivalue_line("markers", "long: minutes of real load")
